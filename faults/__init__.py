"""What happens around the program: kills, full disks, no rights, no memory, interrupts (``make faults``)."""

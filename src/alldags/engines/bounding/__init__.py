"""What the certified engine decides outside its compiled walk."""

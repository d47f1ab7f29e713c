"""The paper's evaluation."""

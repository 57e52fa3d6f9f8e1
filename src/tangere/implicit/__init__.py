"""The implicit step's problem and its solution, without a word of any contact method."""

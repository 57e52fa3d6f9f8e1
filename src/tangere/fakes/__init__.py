"""What tangere is tried on without hardware: vendors, hands, and a program that holds one."""

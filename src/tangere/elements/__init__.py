"""What acts between bodies within a step: force, Hessian, memory and energy of each kind."""

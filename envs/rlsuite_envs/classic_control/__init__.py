"""Problems whose states are numbers, as compiled functions: the classic ones of control.

`mountain_car`, `cart_pole`, `acrobot` and `pendulum` are Gymnasium's environments: each module has a function
``dynamics(env)``, which returns the compiled form of what such an environment does, with the parameters that it has.
`inverted_pendulum` and `car_on_the_hill` are problems of the literature on learning from batches.

These modules are imported only when they are needed, because they load the compiler.
"""

import numpy as np, sys

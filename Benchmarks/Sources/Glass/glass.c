#include "glass.h"

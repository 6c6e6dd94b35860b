#include "plan/cost.hpp"

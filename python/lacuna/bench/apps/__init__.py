# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench apps`: the micro-applications of Schneider et al. (2012)."""

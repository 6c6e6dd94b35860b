# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna costs`: where the time of a message goes."""

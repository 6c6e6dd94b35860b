# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna bench nodes`: messages and exchanges between hosts."""

# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna report`: result files as tables and pages."""

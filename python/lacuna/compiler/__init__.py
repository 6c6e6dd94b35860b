# SPDX-License-Identifier: BSD-3-Clause
"""`lacuna-cc`, `lacuna-c++` and `lacuna-fc`, and the tables of measurements that they use."""

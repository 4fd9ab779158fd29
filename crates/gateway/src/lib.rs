//! Ways into a Pod that need nothing in it: SSH, and the ports of its programs.

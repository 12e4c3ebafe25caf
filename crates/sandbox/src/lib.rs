//! Runs a child process under limits that the kernel keeps: the backends behind [`skill::sandbox::Sandbox`].

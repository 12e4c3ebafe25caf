//! The builtin router: answers without a model.

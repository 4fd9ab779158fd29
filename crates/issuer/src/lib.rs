//! An OpenID provider: says to kube-apiserver and other tools who somebody is.

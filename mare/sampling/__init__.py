"""From a release to synthetic rows: post-processing, it works with the source switched off."""

"""What the fit and the sampler must agree on about tables: a model has to meet the same thing twice.

Between the codec, which knows single columns, and the stage and the sampler, which hold true and synthetic rows. Here stands how
rows look at each other (`placing`), how references and associations become codes (`relations`, `unrolling`, `public`), how rows
that have their places are coded (`coding`), how each column that comes out is filled and which rows must differ (`filling`). No
module here reads or writes anything.
"""

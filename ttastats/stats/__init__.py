"""Statistics of time to accuracy: pure functions of arrays that return frozen results.

Nothing here reads files, prints, or keeps state; randomness comes in as a
``numpy.random.Generator``. Import the module that answers the question:

``sample``       how long does a run take?
``variation``    how uncertain is a coefficient of variation?
``fraction``     how many runs reach the target?
``speedup``      how much faster is B than A?
``decompose``    why is B faster, and why do runs vary?
``permutation``  could the difference be an accident of labelling?
``ranks``        which side wins a pair of runs?
``convergence``  does a setup converge as a reference does?
``failures``     what do failed runs cost?
``unseen``       what could epochs and stragglers not yet seen change?
``verdict``      what may be said in one word?
``scaling``      what do more accelerators buy?
``multiplicity`` what holds over many benchmarks?
``power``        how many runs are needed?
``sensitivity``  which targets to ask about, and over which does an answer hold?
``profile``      how do many systems compare on many benchmarks?
"""

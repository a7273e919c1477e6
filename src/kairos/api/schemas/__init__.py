"""The request bodies and the envelopes of answers, a module for each noun.

The nouns themselves are declared in `kairos.shapes`; `base.model_of` makes their schemas.
"""

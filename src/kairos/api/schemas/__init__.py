"""The request bodies and the envelopes of answers, a module for each record type.

The record types themselves are declared in `kairos.shapes`; `base.model_of` makes their schemas.
"""

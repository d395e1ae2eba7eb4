"""An invented nation, a guest: the command `discreet synth`."""

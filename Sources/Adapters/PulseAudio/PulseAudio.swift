// Adapters/PulseAudio

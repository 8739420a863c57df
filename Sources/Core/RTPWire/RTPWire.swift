// Core/RTPWire

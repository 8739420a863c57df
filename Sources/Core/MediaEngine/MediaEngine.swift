// Core/MediaEngine

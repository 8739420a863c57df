// Core/SessionDescription

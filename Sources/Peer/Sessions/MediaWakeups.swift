import EventLoop

/// The signals with which the media threads wake the network loop.
struct MediaWakeups {
    var video: LoopWakeup
    var audio: LoopWakeup

    func close() {
        video.close()
        audio.close()
    }
}

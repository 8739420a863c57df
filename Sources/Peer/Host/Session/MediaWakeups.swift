package import EventLoop

/// The signals with which the media threads wake the network loop.
package struct MediaWakeups {
    package var video: LoopWakeup
    package var audio: LoopWakeup

    package init(video: LoopWakeup, audio: LoopWakeup) {
        self.video = video
        self.audio = audio
    }

    package func close() {
        video.close()
        audio.close()
    }
}

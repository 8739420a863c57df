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

extension LoopBound<MediaWakeups> {
    /// Those of a broadcast.
    package init(of core: LoopBound<Broadcast>) {
        let loop = core.loop
        self.init(
            loop,
            making: {
                MediaWakeups(
                    video: loop.makeWakeup { core.assumeIsolated { $0.videoFramesQueued() } },
                    audio: loop.makeWakeup { core.assumeIsolated { $0.audioPacketsQueued() } })
            })
    }
}

import MediaCore

/// What is known of the path to the receiver at one time.
struct PathConditions {
    /// The bandwidth estimate for all media.
    var estimate: Bitrate
    /// The standing queue delay.
    var queueDelay: MediaDuration
    /// 100 ms before it is known.
    var roundTrip: MediaDuration
}

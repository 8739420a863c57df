package import Signaling

extension ServiceInfo {
    /// Keeps what a later message does not tell.
    package mutating func take(_ news: ServiceInfo) {
        viewers = news.viewers ?? viewers
        likes = news.likes ?? likes
        comment = news.comment ?? comment
    }
}

extension BroadcastReceiver {
    /// A service with the likes and the comment that it has told.
    package init(name: String, countsViewers: Bool, _ info: ServiceInfo) {
        self.init(name: name, countsViewers: countsViewers)
        likes = info.likes
        comment = info.comment
    }
}

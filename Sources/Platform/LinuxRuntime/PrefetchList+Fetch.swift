internal import CLinux
public import MediaCore

extension PrefetchList {
    /// Has the processor fetch all regions into its caches. Returns at once.
    public func fetch() {
        for index in 0..<count {
            let (start, bytes) = self[index]
            clinux_prefetch(start, bytes)
        }
    }
}

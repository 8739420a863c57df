extension Bool {
    /// Sets it.
    /// - Returns: whether it was not set before.
    public mutating func setOnce() -> Bool {
        defer { self = true }
        return !self
    }
}

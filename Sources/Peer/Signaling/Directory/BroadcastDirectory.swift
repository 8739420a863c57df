public import Admission

/// The broadcasts that may be listed, of this relay and of others. A value without a clock of its own.
///
/// Overflow: a broadcast is refused when there are `capacity` of them.
public struct BroadcastDirectory: Sendable {
    /// A broadcast and who has it.
    public struct Record: Sendable {
        public var entry: DirectoryEntry
        public var icon: PNGIcon?
        /// The relay that has it; nil: this one.
        public let owner: String?

        public init(_ entry: DirectoryEntry, icon: PNGIcon? = nil, owner: String? = nil) {
            (self.entry, self.icon, self.owner) = (entry, icon, owner)
        }
    }

    /// Which broadcasts are looked up.
    public struct Query: Sendable {
        /// The identifier of an application; nil: any.
        public var application: String?
        public var region: String?
        public var limit = 200

        public init(application: String? = nil, region: String? = nil) {
            self.application = application
            self.region = region
        }
    }

    public let capacity: Int
    /// Changes with each change of the entries.
    private(set) var version = 0
    private var records: [String: Record] = [:]
    private var identifiers: [String: Set<String>] = [:]

    public init(capacity: Int = 16_384) { self.capacity = capacity }

    public var count: Int { records.count }

    /// - Parameter id: of a broadcast.
    public subscript(id: String) -> Record? { records[id] }

    /// Adds a broadcast, or replaces what was known of it. What this relay has replaces what another one had.
    /// - Returns: false if there is no room, or another relay has a broadcast of this identifier.
    public mutating func put(_ record: Record) -> Bool {
        let id = record.entry.id
        if let known = records[id] {
            guard known.owner == record.owner || record.owner == nil else { return false }
            remove(id, of: known.owner)
        }
        guard records.count < capacity else { return false }
        version &+= 1
        records[id] = record
        identifiers[record.entry.application.id, default: []].insert(id)
        return true
    }

    /// Shows another application of a broadcast of this relay.
    /// - Returns: the new entry; nil if this relay lists no such broadcast.
    public mutating func setApplication(_ application: ApplicationInfo, of id: String) -> DirectoryEntry? {
        guard var record = records[id], record.owner == nil else { return nil }
        record.entry.setApplication(application)
        record.icon = application.icon
        return put(record) ? record.entry : nil
    }

    public mutating func setViewers(_ viewers: Int, of id: String) {
        version &+= 1
        records[id]?.entry.viewers = viewers
    }

    /// - Parameter owner: of the broadcast; another one's stays.
    public mutating func remove(_ id: String, of owner: String?) {
        guard let record = records[id], record.owner == owner else { return }
        version &+= 1
        records[id] = nil
        let application = record.entry.application.id
        identifiers[application]?.remove(id)
        if identifiers[application]?.isEmpty == true { identifiers[application] = nil }
    }

    /// Removes the broadcasts of another relay.
    public mutating func removeAll(of owner: String) {
        for (id, record) in records where record.owner == owner { remove(id, of: owner) }
    }

    /// The broadcasts with the most viewers first, then the newest.
    /// - Returns: at most `limit` of them, and how many there are.
    public func find(_ query: Query) -> (entries: [DirectoryEntry], total: Int) {
        var ranks: [Rank] = []
        if let application = query.application {
            for id in identifiers[application] ?? [] {
                if let place = records.index(forKey: id) { note(place, query, &ranks) }
            }
        } else {
            ranks.reserveCapacity(records.count)
            for place in records.indices { note(place, query, &ranks) }
        }
        ranks.sort { left, right in
            if left.viewers != right.viewers { return left.viewers > right.viewers }
            if left.since != right.since { return left.since > right.since }
            return records[left.place].key < records[right.place].key
        }
        return (ranks.prefix(max(0, query.limit)).map { records[$0.place].value.entry }, ranks.count)
    }

    /// The values by which a broadcast is sorted. A whole record is large to move.
    private struct Rank {
        var viewers: Int
        var since: Int
        var place: Dictionary<String, Record>.Index
    }

    private func note(_ place: Dictionary<String, Record>.Index, _ query: Query, _ ranks: inout [Rank]) {
        if let region = query.region, records.values[place].entry.region != region { return }
        ranks.append(
            Rank(
                viewers: records.values[place].entry.viewers ?? 0, since: records.values[place].entry.since,
                place: place))
    }
}

package import Admission

/// Loads this machine's identity, or makes one.
/// - Parameter service: the identity with which this service pairs with a relay.
/// - Throws: `Complaint`.
package func makeIdentity(of service: ServiceID? = nil) throws -> Identity {
    do throws(IdentityError) {
        guard let service else { return try Identity.loadOrCreate() }
        return try Identity.ofService(service)
    } catch {
        throw Complaint(sentence: error.description, status: .failed)
    }
}

package import Identifiers
package import Identity

/// Loads this machine's identity, or makes one.
/// - Parameter service: the identity with which this service pairs with a relay.
/// - Throws: `CommandError`.
package func makeIdentity(of service: ServiceID? = nil) throws -> Identity {
    do throws(IdentityError) {
        guard let service else { return try Identity.loadOrCreate() }
        return try Identity.ofService(service)
    } catch {
        throw CommandError(sentence: error.description, status: .failed)
    }
}

/// Keeps a service's link that has a secret in a file.
/// - Returns: the file; nil if the link has no secret.
package func keep(_ link: ServiceLink) throws(CommandError) -> String? {
    guard link.secret != nil else { return nil }
    do throws(IdentityError) {
        return try LinkSecretFile.keep(link)
    } catch {
        throw CommandError(sentence: error.description, status: .failed)
    }
}

/// The secret in the link of a service, made and kept beside the identity.
/// - Throws: `CommandError` if it cannot be.
package func linkSecret(of service: ServiceID) throws -> [UInt8] {
    do throws(IdentityError) {
        return try LinkSecretFile.loadOrCreate(of: service)
    } catch {
        throw CommandError(sentence: error.description, status: .failed)
    }
}

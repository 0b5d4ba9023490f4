// Package ipam keeps the addresses that attachments hold: ranges and what may
// be asked of them, the store of leases on disk, and the lease as a resource.
//
// The store's layout is that of the reference host-local plugin, so that a
// node can be switched over and back in place, and both may even run side by
// side: under the data directory, a folder a network; in it a file a lease,
// named by the address and holding the container's and the interface's name;
// last_reserved_ip.N; and the lock. What only we need (whose leases are where,
// and of which boot they are) stands in .fairlead beside the networks, since
// the reference walks through everything below a network's folder.
//
// What may enter: leases and their arithmetic. What may not: CNI's protocol,
// links, routes.
package ipam

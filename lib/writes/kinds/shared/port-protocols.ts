/** The protocols of ports of Services and endpoints. */

export const portProtocols: readonly string[] = ['SCTP', 'TCP', 'UDP']

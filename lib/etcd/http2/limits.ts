/** The limits of a connection, for both of its ends. What a client and a server may differ in is
 *  what they take beside requests and answers: a server has many clients that it does not know. */

import type { AllowanceBounds } from './allowance.ts'

/** All headers of a request or an answer together, over HTTP/1.1, too. kube-apiserver takes 1 MiB;
 *  nothing that reads needs more than tokens and a URL. */
export const headersMaxBytes: number = 64 * 1024

/** Bytes that carry nothing, from a client: a thousandth of a processor. */
export const idleOfClient: AllowanceBounds = { most: 1024 * 1024, perSecond: 256 * 1024 }
/** Bytes that carry nothing, from a server, between two parts of its answers: some 500 pings. */
export const idleOfServer: AllowanceBounds = { most: 8 * 1024, perSecond: 16 * 1024 }
/** The part of what was sent to the other side that is allowed beside these bounds, since it
 *  acknowledges that: with 26 bytes for each 4 KiB if it is Go's, and for each frame if it is
 *  careless. */
export const acknowledged: number = 1 / 4
/** The bytes that a refused stream counts for: as much work. */
export const refusedStreamBytes = 256
/** The bytes that new settings count for, for each stream that they may concern. */
export const settingsBytes = 16

/** A side that does not read the answers to its pings and settings is left with so many bytes of
 *  them. */
export const controlMaxBytes: number = 1024 * 1024

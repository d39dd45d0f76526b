/** A certificate authority for one cluster, made at start. */

import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { certificate } from './certificate.ts'

export interface IssuedPair {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface Authority {
  /** Its own certificate and key (PEM). */
  readonly cert: string
  readonly key: string
  /** A certificate for a server with these names and addresses, and its key. */
  issue(names: readonly string[]): IssuedPair
}

const name = 'watchglass'
const validMs = 365 * 24 * 3_600_000
/** Clocks differ a little, and containers' may. */
const agoMs = 3_600_000

export function createAuthority(nowMs: number): Authority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const common = {
    issuer: name,
    issuerKey: own.publicKey,
    signWith: own.privateKey,
    notBeforeMs: nowMs - agoMs,
    notAfterMs: nowMs + validMs,
  }
  return {
    cert: certificate({ ...common, subject: name, publicKey: own.publicKey, use: 'authority' }),
    key: pemOf(own.privateKey),
    issue(names) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return {
        cert: certificate({
          ...common,
          subject: 'kube-apiserver',
          publicKey,
          use: { server: names },
        }),
        key: pemOf(privateKey),
      }
    },
  }
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

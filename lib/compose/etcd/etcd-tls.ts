/** The certificate of `--etcd-listen`, read again when its files change. */

import type { SecureContextOptions } from 'node:tls'
import type { Logger } from '../../base/logger.ts'
import type { EtcdListenFiles } from '../../config/etcd-listen.ts'
import { readTls, watchTls } from '../../http/server/tls.ts'
import { systemClock } from '../../ops/system.ts'

export interface EtcdTlsFollower {
  /** Undefined without files: plain. */
  readonly current: SecureContextOptions | undefined
  /** Who is told of another certificate. */
  onChange(task: (renewed: SecureContextOptions) => void): void
  stop(): void
}

/** Reads the files, and follows them until it is stopped. Fails, naming the files, if they do not make a TLS context. */
export async function followEtcdTls(
  given: EtcdListenFiles | undefined,
  logger: Logger,
): Promise<EtcdTlsFollower> {
  if (given === undefined) return { current: undefined, onChange: () => {}, stop: () => {} }
  const files = { ...given, options: names }
  const current = await readTls(files)
  let task: (renewed: SecureContextOptions) => void = () => {}
  const stop = watchTls({
    files,
    current,
    clock: systemClock,
    onChange: renewed => {
      task(renewed)
      logger.info('the certificate of --etcd-listen was renewed')
    },
    onFailure: ({ message }) => {
      logger.warn('the renewed certificate of --etcd-listen cannot be used; the old one stays', {
        reason: message,
      })
    },
  })
  return { current, onChange: given => (task = given), stop }
}

const names = {
  cert: '--etcd-listen-cert',
  key: '--etcd-listen-key',
  clientCa: '--etcd-listen-client-ca',
}

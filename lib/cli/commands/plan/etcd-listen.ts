/** The listener of etcd's own API that the options ask for. */

import { CacheError, isLoopback } from '@watchglass/base'
import type { AllowedTexts, EtcdListen, EtcdListenFiles } from '@watchglass/etcd-server'
import { listed, type OptionValues } from '../../options/option-values.ts'

/** The address of `--etcd-listen`; undefined if it is not given. */
export function etcdListenOf(values: OptionValues): EtcdListen | undefined {
  const address = values.text('etcd-listen')
  const tlsFiles = filesOf(values)
  if (address === undefined) {
    if (tlsFiles !== undefined) throw invalid('--etcd-listen-cert needs --etcd-listen')
    return undefined
  }
  const [, bracketed] = /^(\[[0-9a-fA-F:.]+\]|[^:/[\]]+):\d{1,5}$/.exec(address) ?? []
  if (bracketed === undefined) {
    throw invalid(`--etcd-listen "${address}" is not HOST:PORT, such as 127.0.0.1:2379`)
  }
  if (!isLoopback(bracketed.replace(/^\[|\]$/g, '')) && tlsFiles?.clientCaFile === undefined) {
    throw invalid(
      `refusing to serve etcd's API on ${address}: anyone who can connect could read and change everything; set --etcd-listen-cert, --etcd-listen-key and --etcd-listen-client-ca, or listen on a loopback address`,
    )
  }
  const rules = rulesOf(values)
  if (rules !== undefined && tlsFiles?.clientCaFile === undefined) {
    throw invalid('--etcd-listen-allow needs --etcd-listen-client-ca: names come from certificates')
  }
  return { address, tlsFiles, prefixes: prefixesOf(values), rules }
}

function rulesOf(values: OptionValues): ReadonlyMap<string, AllowedTexts> | undefined {
  const texts = values.all('etcd-listen-allow')
  if (texts.length === 0) return undefined
  const rules = new Map<string, { read: string[]; write: string[] }>()
  for (const text of texts) {
    const [, name, list] = /^([^=]+)=(.+)$/.exec(text) ?? []
    if (name === undefined || list === undefined) {
      throw invalid(`--etcd-listen-allow "${text}" is not NAME=PREFIX, such as cilium=cilium/`)
    }
    const rule = rules.get(name) ?? { read: [], write: [] }
    rules.set(name, rule)
    for (const part of list.split(',')) {
      const isRead = part.startsWith('read:')
      const prefix = isRead ? part.slice('read:'.length) : part
      if (prefix === '') throw invalid(`--etcd-listen-allow "${text}" has an empty prefix`)
      rule[isRead ? 'read' : 'write'].push(prefix)
    }
  }
  return rules
}

/** The longer ones of two that overlap are left out. */
function prefixesOf(values: OptionValues): string[] {
  const given = listed(values, 'etcd-listen-prefix')
  const all = given.length === 0 ? [`${values.text('prefix') ?? ''}/`] : given
  const prefixes = all.map(prefix => (prefix === 'all' ? '' : prefix))
  return prefixes.filter(
    (one, i) => !prefixes.some((other, j) => one.startsWith(other) && (one !== other || j < i)),
  )
}

const names = {
  cert: '--etcd-listen-cert',
  key: '--etcd-listen-key',
  clientCa: '--etcd-listen-client-ca',
}

function filesOf(values: OptionValues): EtcdListenFiles | undefined {
  const [certFile, keyFile] = ['cert', 'key'].map(name => values.text(`etcd-listen-${name}`))
  const clientCaFile = values.text('etcd-listen-client-ca')
  if (certFile !== undefined && keyFile !== undefined) {
    return { certFile, keyFile, clientCaFile, options: names }
  }
  if (certFile === undefined && keyFile === undefined && clientCaFile === undefined) {
    return undefined
  }
  throw invalid(
    clientCaFile === undefined
      ? '--etcd-listen-cert and --etcd-listen-key must be given together'
      : '--etcd-listen-client-ca needs --etcd-listen-cert and --etcd-listen-key',
  )
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}

/** The addresses to listen on, read from the options. */

import { CacheError } from '@watchglass/base'
import type { OptionValues } from '../../options/option-values.ts'

/** An address to listen at. */
export interface ListenAddress {
  readonly protocol: 'http' | 'https'
  readonly host: string
  readonly port: number
}

/** The address of `--listen`. */
export function listenOf(values: OptionValues): ListenAddress {
  return parseAddress('--listen', values.text('listen') ?? '')
}

/** An address as it is written in an option. */
export function parseAddress(option: string, text: string): ListenAddress {
  const match = /^(https?):\/\/(\[[0-9a-fA-F:.]+\]|[^:/[\]]+)(?::(\d{1,5}))?\/?$/.exec(text)
  const [, protocol, bracketed = '', digits] = match ?? []
  const port = Number(digits ?? (protocol === 'https' ? 443 : 80))
  if (match === null || port > 65_535) {
    throw invalid(`${option} "${text}" is not an address such as http://127.0.0.1:8001`)
  }
  const host = bracketed.replace(/^\[|\]$/g, '')
  return { protocol: protocol === 'https' ? 'https' : 'http', host, port }
}

/** The files of the certificate, for https only. */
export function tlsFilesOf(
  values: OptionValues,
): { certFile: string; keyFile: string; clientCaFile: string | undefined } | undefined {
  const [certFile, keyFile] = ['tls-cert', 'tls-key'].map(name => values.text(name))
  const clientCaFile = values.text('client-ca')
  const isHttps = values.text('listen')?.startsWith('https:') === true
  if (!isHttps) {
    const given = ['tls-cert', 'tls-key', 'client-ca'].find(name => values.text(name) !== undefined)
    if (given !== undefined) throw invalid(`--${given} needs --listen https://...`)
    return undefined
  }
  if (certFile === undefined || keyFile === undefined) {
    throw invalid('--listen https://... needs --tls-cert and --tls-key')
  }
  return { certFile, keyFile, clientCaFile }
}

/** As a URL, with the port that was chosen. */
export function addressOf({ protocol, host }: ListenAddress, port: number): string {
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}

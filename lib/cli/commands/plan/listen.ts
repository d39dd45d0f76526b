/** The addresses to listen on, read from the options. */

import { type ListenAddress, listenOption, tlsOptions } from '../../options/listening.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { checkRules } from '../../options/rules.ts'

/** The files of the certificate, for https only. */
export function tlsFilesOf(
  values: OptionValues,
): { certFile: string; keyFile: string; clientCaFile: string | undefined } | undefined {
  checkRules(values, [...tlsOptions, listenOption])
  const [certFile, keyFile, clientCaFile] = tlsOptions.map(({ name }) => values.text(name))
  return certFile === undefined || keyFile === undefined
    ? undefined
    : { certFile, keyFile, clientCaFile }
}

/** As a URL, with the port that was chosen. */
export function addressOf({ protocol, host }: ListenAddress, port: number): string {
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

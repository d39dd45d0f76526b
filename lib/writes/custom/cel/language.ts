/** CEL as rules of definitions have it. */

import {
  deviceEnvironment,
  type Environment,
  type FormatChecks,
  kubernetesEnvironment,
  mutationEnvironment,
  requestUriProblem,
} from '@watchglass/cel'
import {
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  type TextFormat,
  labelValue,
  maskTrailingDash,
  qualifiedName,
} from '../../validation/formats.ts'
import { hasFormat } from '../text-formats.ts'

/** The newest version that is served: what is written must be read by all of them. */
const minor = 36

const prefixOf =
  (format: TextFormat): TextFormat =>
  text =>
    format(maskTrailingDash(text))

const textFormat =
  (name: string, problem: string): TextFormat =>
  text =>
    hasFormat(text, name) ? [] : [problem]

const formats: FormatChecks = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: dnsSubdomain,
  dns1035Label,
  qualifiedName,
  dns1123LabelPrefix: prefixOf(dnsLabel),
  dns1123SubdomainPrefix: prefixOf(dnsSubdomain),
  dns1035LabelPrefix: prefixOf(dns1035Label),
  labelValue,
  uri: text => {
    const problem = requestUriProblem(text)
    return problem === undefined ? [] : [problem]
  },
  uuid: textFormat('uuid', 'does not match the UUID format'),
  byte: textFormat('byte', 'invalid base64'),
  date: textFormat('date', 'invalid date'),
  datetime: textFormat('datetime', 'invalid datetime'),
}

let rules: Environment | undefined
let mutations: Environment | undefined
let devices: Environment | undefined

/** The language, made when it is needed first: most servers never compile a rule. */
export function ruleLanguage(): Environment {
  return (rules ??= kubernetesEnvironment(minor, formats))
}

/** The language of the mutations of policies. */
export function mutationLanguage(): Environment {
  return (mutations ??= mutationEnvironment(minor, formats))
}

/** The language of what chooses devices. */
export function deviceLanguage(): Environment {
  return (devices ??= deviceEnvironment(minor, formats))
}

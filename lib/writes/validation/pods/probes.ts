/** The calls of the kubelet in containers: probes, and the hooks at the start and at the end. */

import { httpHeaderName } from '../formats.ts'
import { checkPortOrName } from '../../kinds/core/service.ts'
import type { Place } from '../place.ts'

/** The grace period of the pod, if it has one. */
export type GracePeriod = number | undefined

const probeNumbers = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
]

export function checkProbes(container: Place, gracePeriod: GracePeriod): void {
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = container.in(name)
    if (!probe.isSet) continue
    checkProbe(probe, gracePeriod)
    const [threshold, grace] = [
      probe.in('successThreshold'),
      probe.in('terminationGracePeriodSeconds'),
    ]
    if (name === 'readinessProbe') {
      if (grace.isSet) grace.invalid('must not be set for readinessProbes')
    } else if (threshold.number !== 1) threshold.invalid('must be 1', threshold.number)
  }
}

function checkProbe(probe: Place, gracePeriod: GracePeriod): void {
  checkHandler(probe, gracePeriod)
  for (const name of probeNumbers) probe.in(name).notNegative()
  const grace = probe.in('terminationGracePeriodSeconds')
  if (grace.isSet && grace.number <= 0) grace.invalid('must be greater than 0')
}

export function checkLifecycle(lifecycle: Place, gracePeriod: GracePeriod, os: string): void {
  for (const name of ['postStart', 'preStop']) {
    if (lifecycle.in(name).isSet) checkHandler(lifecycle.in(name), gracePeriod)
  }
  const signal = lifecycle.in('stopSignal')
  if (!signal.isSet) return
  if (os === '') signal.forbidden('may not be set for containers with empty `spec.os.name`')
  else if (os === 'windows') signal.oneOf(['SIGKILL', 'SIGTERM'], 'unsupported')
  else if (os === 'linux') signal.oneOf(linuxSignals, 'unsupported')
}

const realTimeSignals = [
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
]
const linuxSignals = [
  ...'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT'
    .split(' ')
    .map(name => `SIG${name}`),
  ...'STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX'
    .split(' ')
    .map(name => `SIG${name}`),
  ...realTimeSignals,
].sort()

type Check = (handler: Place, gracePeriod: GracePeriod) => void

const handlers: Readonly<Record<string, Check>> = {
  exec: handler => {
    if (handler.in('command').size === 0) handler.in('command').required()
  },
  httpGet: checkHttpGet,
  tcpSocket: handler => checkPortOrName(handler.in('port')),
  grpc: handler => checkPortOrName(handler.in('port')),
  sleep: (handler, gracePeriod) => {
    const seconds = handler.in('seconds').number
    if (gracePeriod === undefined || (seconds >= 0 && seconds <= gracePeriod)) return
    handler.invalid(
      `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`,
      seconds,
    )
  },
}

function checkHandler(place: Place, gracePeriod: GracePeriod): void {
  let count = 0
  for (const [name, check] of Object.entries(handlers)) {
    const handler = place.in(name)
    if (!handler.isSet) continue
    if (count++ > 0) handler.forbidden('may not specify more than 1 handler type')
    else check(handler, gracePeriod)
  }
  if (count === 0) place.required('must specify a handler type')
}

function checkHttpGet(handler: Place): void {
  if (handler.in('path').text === '') handler.in('path').required()
  checkPortOrName(handler.in('port'))
  handler.in('scheme').oneOf(['HTTP', 'HTTPS'], 'unsupported')
  const headers = handler.in('httpHeaders')
  for (const header of headers.items) {
    const name = header.in('name').text
    headers.invalidFor(httpHeaderName(name), name)
  }
}

/** Metrics of faults on purpose. */

import { Counter, type Registry } from 'prom-client'

export class FaultCounts {
  readonly #met: Counter

  constructor(registry: Registry) {
    this.#met = new Counter({
      name: 'watchglass_injected_faults_total',
      help: 'Faults that clients met because --fault or PUT /faults asked for them, by fault.',
      labelNames: ['fault'],
      registers: [registry],
    })
  }

  met(fault: string): void {
    this.#met.inc({ fault })
  }
}

/** One check of whether the service is well. Whatever has a state that matters for readiness makes
 *  one; /readyz asks them all. */

export interface HealthCheck {
  readonly name: string
  /** Problem; undefined if there is none. */
  readonly problem: () => string | undefined
}

/** What the processes of a benchmark print for each other. */

/** In front of the addresses of the outside. */
export const OUTSIDE_READY = 'outside ready ';

export interface OutsideAddresses {
  AI_BASE_URL: string;
  SMTP_URL: string;
  HTTP_URL: string;
}

/** The setting by which the bare worker learns of them, as JSON. */
export const OUTSIDE_ADDRESSES = 'OUTSIDE_ADDRESSES';

/** In front of the milliseconds that the creation of a worker took. */
export const WORKER_CREATED = 'worker created in ';

/** In front of the port of the bare server. */
export const BARE_HTTP_READY = 'bare http ready ';

/** What the bare server is asked to answer. */
export interface BareHttpAsk {
  body: unknown;
}

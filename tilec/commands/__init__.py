"""The commands of ``tilec``, one file each: ``EPILOG``, ``configure`` and ``run``."""

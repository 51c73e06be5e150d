# The module `mod_wsgi`, by which programs find out what serves them, and where. Part of the text of support.py, behind it.


def present(process_group, application_group):
    module = types.ModuleType("mod_wsgi", "What serves the applications of this interpreter.")
    module.version = (4, 9, 4)
    module.process_group = process_group
    module.application_group = application_group
    module.threads_per_process = 1
    module.FileWrapper = FileWrapper
    sys.modules["mod_wsgi"] = module
